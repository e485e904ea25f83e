/* What unfold's pages leave without a name for those who listen to them: landmarks, and fields without a label. */
"use strict";

function name(element, text) {
  if (element && text && !element.labels?.length && !element.getAttribute("aria-label")) {
    element.setAttribute("aria-label", text.trim());
  }
}

function numberRegions() {
  document.querySelectorAll("[role=region]:not([data-numbered])").forEach((region) => {
    const number = document.querySelectorAll("[data-numbered]").length + 1;
    region.dataset.numbered = number;
    region.setAttribute("aria-label", `${region.getAttribute("aria-label") || "content"} ${number}`);
  });
}

document.addEventListener("DOMContentLoaded", () => {
  const main = document.getElementById("main") || document.getElementById("page")?.firstElementChild;
  if (main && !document.querySelector("main, [role=main]")) main.setAttribute("role", "main");
  for (const field of document.querySelectorAll("input[type=search], input[placeholder], textarea[placeholder]")) {
    name(field, field.placeholder);
  }
  for (const row of document.querySelectorAll("#result_list tr:has(input.action-select)")) {
    const link = row.querySelector("th a, td a") || row.querySelector("th, td:not(.action-checkbox)");
    name(row.querySelector("input.action-select"), link?.textContent.slice(0, 80));
  }
  document.querySelectorAll("nav").forEach((nav, number) => name(nav, nav.id || `navigation ${number + 1}`));
  for (const head of document.querySelectorAll("th")) {
    if (!head.textContent.trim() && !head.querySelector("input")) head.setAttribute("role", "presentation");
  }
  // simplebar makes its regions after the page is there, all of one name
  new MutationObserver(numberRegions).observe(document.body, { childList: true, subtree: true });
  numberRegions();
});

/* Copies what an element says. Without a secure address browsers refuse that: then it is marked, to be copied by hand. */
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  const selection = window.getSelection();
  selection.selectAllChildren(source);
  let isCopied = true;
  try {
    await navigator.clipboard.writeText(source.textContent);
  } catch {
    isCopied = document.execCommand("copy");
  }
  if (!isCopied) return;
  const label = button.textContent;
  button.textContent = button.dataset.copied;
  setTimeout(() => { button.textContent = label; }, 1500);
});

/* Unfold hides a page until its scripts run, and a browser focuses nothing that is hidden. */
new MutationObserver((_changes, watch) => {
  if (document.documentElement.hasAttribute("x-cloak")) return;
  watch.disconnect();
  if (document.activeElement === document.body) document.querySelector("#main [autofocus], form [autofocus]")?.focus();
}).observe(document.documentElement, { attributeFilter: ["x-cloak"] });

/* A picker is called as the field it stands for: select2 names it by what is chosen, which is nothing at first. */
window.addEventListener("load", () => {
  for (const select of document.querySelectorAll("select.admin-autocomplete")) {
    const label = select.labels?.[0];
    const box = select.nextElementSibling?.querySelector(".select2-selection");
    if (!label || !box) continue;
    label.id ||= `${select.id}_label`;
    box.setAttribute("aria-labelledby", `${label.id} ${box.getAttribute("aria-labelledby") || ""}`.trim());
    box.querySelector("[role=textbox]")?.setAttribute("aria-labelledby", label.id);
  }
});
