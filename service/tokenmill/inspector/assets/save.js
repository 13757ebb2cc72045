// @ts-check
/** What the live view was told, as a file: lines of JSON, or a page that shows them without a network. */

const MARK = ">RECORDING<";

/** Gives a file to whoever looks. @param {string} name @param {Blob} content */
export function save(name, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** The page with the lines in it. @param {Blob} lines @param {FormatChoice[]} formats whose diagrams it needs */
export async function page(lines, formats) {
  const empty = await (await fetch("replay.html")).text();
  const place = empty.indexOf(MARK);
  const about = `${JSON.stringify({ line: "formats", formats })}\n`;
  // In JSON, "<" is only ever part of a string.
  const text = (about + (await lines.text())).replaceAll("<", "\\u003c");
  return new Blob([empty.slice(0, place + 1), text, empty.slice(place + MARK.length - 1)], { type: "text/html" });
}
