// The code of an invitation stands behind the # of its link, which browsers send to nobody.
const code = document.querySelector("input[name=code]");
if (code && location.hash.length > 1) {
    code.value = decodeURIComponent(location.hash.slice(1));
    code.closest("p").hidden = true;
    history.replaceState(null, "", location.pathname);
}
