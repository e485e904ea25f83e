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
