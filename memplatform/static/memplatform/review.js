/* The keys of the review: each presses what is marked with it. Without this script the same buttons are clicked.
   Loaded before the page is drawn, so that no key is lost between what is seen and what listens. */
"use strict";

let isLeaving = false;

document.addEventListener("keydown", (event) => {
  if (event.repeat || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || isLeaving) return;
  if (event.target.closest("input, textarea, select, [contenteditable], dialog")) return;
  const marked = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!marked) return;
  event.preventDefault();
  // a second key before the next question is there would be an answer to a question nobody has read
  isLeaving = marked.localName !== "summary";
  marked.click();
});

window.addEventListener("pageshow", () => {
  isLeaving = false;
});
