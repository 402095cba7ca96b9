"use strict";
// The search: all words of the query have to be in a section. What is in its heading counts most.
const root = document.body.dataset.root;
const field = document.getElementById("search");
const results = document.getElementById("results");
let loading = null;

function load() {
  loading ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = root + "search-index.js";
    script.onload = () => done(sections); // of search-index.js
    script.onerror = failed;
    document.head.append(script);
  });
  return loading;
}

// pattern finds a word: a short one where a word begins, a long one also within names.
function pattern(word) {
  return (word.length < 4 ? "\\b" : "") + word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

function score(section, words) {
  let total = 0;
  for (const word of words) {
    let best = 0;
    for (const [text, weight] of [[section.Heading, 20], [section.Page, 8], [section.Text, 1]]) {
      const count = (text.match(new RegExp(pattern(word), "gi")) ?? []).length;
      if (count) best = Math.max(best, weight + Math.min(count, 5));
    }
    if (!best) return 0;
    total += best;
  }
  return total;
}

// marked appends a text to an element, with the words of the query marked.
function marked(element, text, words) {
  text.split(new RegExp("(" + words.map(pattern).join("|") + ")", "gi")).forEach((part, i) => {
    if (i % 2) element.append(Object.assign(document.createElement("mark"), { textContent: part }));
    else element.append(part);
  });
}

function excerpt(text, words) {
  const first = text.search(new RegExp(words.map(pattern).join("|"), "i"));
  const from = Math.max(0, first - 60);
  return (from ? "…" : "") + text.slice(from, from + 180) + (from + 180 < text.length ? "…" : "");
}

async function search() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  results.hidden = !words.length;
  if (!words.length) return;
  const all = await load();
  const found = all.map((section) => ({ section, points: score(section, words) }))
    .filter((hit) => hit.points).sort((a, b) => b.points - a.points)
    .filter((hit, i, hits) => hits.slice(0, i).filter((other) => other.section.Page === hit.section.Page).length < 3).slice(0, 20);
  results.replaceChildren(...found.map(({ section }) => {
    const link = Object.assign(document.createElement("a"), { href: root + section.Link });
    const title = document.createElement("strong");
    marked(title, section.Heading === section.Page ? section.Page : section.Page + " › " + section.Heading, words);
    const text = document.createElement("span");
    marked(text, excerpt(section.Text, words), words);
    link.append(title, text);
    return link;
  }));
  if (!found.length) results.append(Object.assign(document.createElement("p"), { textContent: "Nothing has all of these words." }));
}

field.addEventListener("input", search);
field.form.addEventListener("submit", (event) => {
  event.preventDefault();
  results.querySelector("a")?.click();
});
document.addEventListener("keydown", (event) => {
  const links = [field, ...results.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  if (event.key === "/" && at !== 0) { event.preventDefault(); field.focus(); }
  if (event.key === "Escape") { field.value = ""; search(); }
  if (at >= 0 && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    event.preventDefault();
    links[at + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
  }
});
document.addEventListener("click", (event) => { if (!results.contains(event.target) && event.target !== field) results.hidden = true; });
results.addEventListener("click", () => { results.hidden = true; });
if (matchMedia("(max-width: 52rem)").matches) document.querySelector(".menu").open = false;
const asked = new URLSearchParams(location.search).get("q");
if (asked) { field.value = asked; search(); }
