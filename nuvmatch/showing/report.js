"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (id) => document.getElementById(id);
  const views = all(".view");
  const rows = all("tbody tr");
  const marks = {};
  for (const mark of all(".marks [data-n]")) (marks[mark.dataset.n] ??= []).push(mark);
  const shown = () => all("tbody tr:not(.off)");
  let chosen = null;

  // Zoom: an image is as wide as so many times its view.

  const zooms = new Map(views.map((view) => [view, 1]));
  const picture = (view) => view.querySelector("svg");

  const fit = (view) => {
    const { width, height } = picture(view).dataset;
    const free = 0.75 * window.innerHeight;
    return Math.min(1, (free * width) / (height * view.clientWidth));
  };

  const zoom = (view, times, x = view.clientWidth / 2, y = view.clientHeight / 2) => {
    const svg = picture(view);
    const same = svg.dataset.width / view.clientWidth;
    times = Math.min(Math.max(times, fit(view)), Math.max(32 * same, 1));
    const grown = times / zooms.get(view);
    const left = (view.scrollLeft + x) * grown - x, top = (view.scrollTop + y) * grown - y;
    zooms.set(view, times);
    svg.style.width = `${100 * times}%`;
    const pixel = svg.dataset.width / svg.getBoundingClientRect().width;
    svg.style.setProperty("--px", pixel);
    view.classList.toggle("large", pixel < 0.7);
    view.scrollTo(left, top);
  };

  const zoomTo = {
    in: (view) => zoom(view, zooms.get(view) * 1.5),
    out: (view) => zoom(view, zooms.get(view) / 1.5),
    fit: (view) => zoom(view, fit(view)),
    same: (view) => zoom(view, picture(view).dataset.width / view.clientWidth),
  };

  for (const button of all("[data-zoom]")) {
    button.onclick = () => zoomTo[button.dataset.zoom](one(button.dataset.of));
  }

  for (const view of views) {
    zoom(view, fit(view));
    view.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const { left, top } = view.getBoundingClientRect();
      const times = zooms.get(view) * Math.exp(-event.deltaY / 300);
      zoom(view, times, event.clientX - left, event.clientY - top);
    }, { passive: false });
    let from = null, moved = false;
    view.addEventListener("pointerdown", (event) => {
      moved = false;
      if (event.pointerType === "mouse" && event.button === 0) {
        from = [event.clientX + view.scrollLeft, event.clientY + view.scrollTop];
      }
    });
    window.addEventListener("pointermove", (event) => {
      if (!from) return;
      const left = from[0] - event.clientX, top = from[1] - event.clientY;
      moved ||= Math.hypot(left - view.scrollLeft, top - view.scrollTop) > 3;
      view.classList.toggle("grabbed", moved);
      if (moved) view.scrollTo(left, top);
    });
    window.addEventListener("pointerup", () => {
      from = null;
      view.classList.remove("grabbed");
    });
    view.addEventListener("click", (event) => {
      const mark = event.target.closest("[data-n]");
      if (mark && !moved) choose(rows.find((row) => row.dataset.n === mark.dataset.n));
    });
  }
  window.addEventListener("resize", () => views.forEach((view) => zoom(view, zooms.get(view))));
  if (one("numbers")) {
    one("numbers").onchange = () => {
      one("scene").classList.toggle("unnumbered", !one("numbers").checked);
    };
  }

  // One match is chosen: in the list, and on the pictures.

  const tell = (row) => {
    const known = all("td[data-title]:not(:empty)", row);
    const words = known.map((cell) => `${cell.dataset.title} ${cell.textContent}`).join(", ");
    const pictures = row.querySelector(".pictures").cloneNode(true).children;
    one("about").replaceChildren(...pictures, `${row.dataset.n}: ${words}`);
  };

  const choose = (row, focus = false) => {
    for (const part of all(".chosen")) part.classList.remove("chosen");
    for (const other of rows) other.tabIndex = other === row ? 0 : -1;
    chosen = row;
    row.classList.add("chosen");
    if (focus) {
      row.focus({ preventScroll: true });
      row.scrollIntoView({ block: "nearest" });
    }
    tell(row);
    for (const mark of marks[row.dataset.n] ?? []) {
      mark.classList.add("chosen");
      mark.parentNode.append(mark); // above the others
      if (!mark.querySelector(".box")) continue;
      const view = mark.closest(".view"), seen = view.getBoundingClientRect();
      const box = mark.querySelector(".box").getBoundingClientRect();
      view.scrollBy(
        (box.left + box.right - seen.left - seen.right) / 2,
        (box.top + box.bottom - seen.top - seen.bottom) / 2,
      );
    }
  };

  const step = (event, focus) => {
    const list = shown(), at = list.indexOf(chosen);
    const next = {
      ArrowDown: at + 1, ArrowRight: at + 1, Home: 0, End: list.length - 1,
      ArrowUp: Math.max(at - 1, 0), ArrowLeft: Math.max(at - 1, 0),
    }[event.key];
    if (next === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (list.length) choose(list[Math.min(next, list.length - 1)], focus);
  };

  for (const view of views) {
    view.addEventListener("keydown", (event) => {
      const way = { "+": "in", "=": "in", "-": "out", 0: "fit" }[event.key];
      const pan = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
      if (way && !event.ctrlKey && !event.metaKey) zoomTo[way](view);
      else if (event.shiftKey && pan[event.key]) view.scrollBy(...pan[event.key].map((d) => 80 * d));
      else step(event, false);
    });
  }
  if (!rows.length) return;
  const body = rows[0].parentNode;
  body.addEventListener("keydown", (event) => step(event, true));
  body.addEventListener("click", (event) => choose(event.target.closest("tr"), true));

  // The slider goes from value to value, so that each step hides or shows a match.

  const slider = one("slider"), key = one("key"), told = one("told");
  const value = (row) => (row.dataset[key.value] === "" ? Infinity : Number(row.dataset[key.value]));
  let limits = [];

  const filter = () => {
    const limit = limits[slider.value - 1] ?? -Infinity;
    for (const row of rows) {
      const off = value(row) > limit;
      for (const part of [row, ...(marks[row.dataset.n] ?? [])]) part.classList.toggle("off", off);
    }
    const count = shown().length, name = key.selectedOptions[0].text;
    const most = limit === -Infinity ? "" : limit === Infinity ? `: any ${name}`
      : `: ${name} of at most ${Number(limit.toPrecision(4))}`;
    told.value = `${count} of ${rows.length} shown${most}`;
    slider.setAttribute("aria-valuetext", told.value);
    const first = shown()[0];
    if (first && !shown().some((row) => row.tabIndex === 0)) first.tabIndex = 0;
  };

  const begin = () => {
    limits = [...new Set(rows.map(value))].sort((a, b) => (a < b ? -1 : 1));
    slider.max = limits.length; // before the value, which it limits
    slider.value = limits.length;
    filter();
  };

  key.onchange = begin;
  slider.oninput = filter;
  one("limit").onsubmit = (event) => event.preventDefault();
  begin();

  // The list: sorted by a column, what is empty last; saved as it stands.

  const compare = (a, b) => {
    const both = [Number(a), Number(b)];
    if (both.some(Number.isNaN)) return a.localeCompare(b);
    return both[0] === both[1] ? 0 : both[0] < both[1] ? -1 : 1;
  };

  for (const head of all("thead th")) {
    const button = head.querySelector("button");
    if (!button) continue;
    button.onclick = () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of all("thead th")) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const cell = (row) => row.cells[head.cellIndex].dataset.v;
      const order = all("tbody tr").sort((a, b) => {
        const [left, right] = [cell(a), cell(b)];
        if ((left === "") !== (right === "")) return left === "" ? 1 : -1;
        return down ? compare(right, left) : compare(left, right);
      });
      body.append(...order);
    };
  }

  one("save").onclick = () => {
    const lines = JSON.parse(one("csv").textContent);
    const text = [lines[0], ...shown().map((row) => lines[row.dataset.n])].join("");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = "matches.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
})();
