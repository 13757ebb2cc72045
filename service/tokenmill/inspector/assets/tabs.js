// @ts-check
/** Tabs as the ARIA practices describe them: arrows go from one to the next, and the chosen one is in the tab order. */

import { h } from "./dom.js";

/** A list of tabs over panels that are made when they are first shown. */
export class Tabs {
  /** @type {Map<string, {tab: HTMLElement, panel: HTMLElement}>} */
  #tabs = new Map();

  /** @param {HTMLElement} list @param {HTMLElement} panels @param {(name: string) => void} chosen */
  constructor(list, panels, chosen) {
    this.list = list;
    this.panels = panels;
    this.chosen = chosen;
    list.addEventListener("keydown", (event) => this.#key(event));
  }

  /**
   * One more tab.
   * @param {string} name @param {string} title
   */
  add(name, title) {
    const tab = h("button", {
      type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `view-${name}`, "aria-selected": "false", tabindex: -1,
      click: () => this.chosen(name),
    }, title);
    const panel = h("section", { role: "tabpanel", id: `view-${name}`, "aria-labelledby": `tab-${name}`, hidden: true },
      h("h2", { class: "unseen" }, title));
    this.#tabs.set(name, { tab, panel });
    this.list.append(tab);
    this.panels.append(panel);
  }

  /**
   * What a tab shows.
   * @param {string} name @param {HTMLElement} content
   */
  fill(name, content) {
    this.#tabs.get(name)?.panel.append(content);
  }

  /**
   * Shows one of them.
   * @param {string} name
   */
  show(name) {
    for (const [each, { tab, panel }] of this.#tabs) {
      const on = each === name;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      panel.hidden = !on;
    }
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const all = [...this.#tabs.values()].map(({ tab }) => tab);
    const at = all.findIndex((tab) => tab === document.activeElement);
    if (!by || at < 0) return;
    event.preventDefault();
    const next = all[(at + by + all.length) % all.length];
    next?.focus();
    next?.click();
  }
}
