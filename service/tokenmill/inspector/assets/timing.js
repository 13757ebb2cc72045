// @ts-check
/** When work is done: once per frame, or once the typing rests. */

/**
 * A function that does the work in the next frame, once, however often it is called.
 * @param {() => void} work
 */
export function perFrame(work) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      work();
    });
  };
}

/**
 * A function that does the work once it has not been called for so many milliseconds.
 * @param {number} milliseconds @param {() => void} work
 */
export function rested(milliseconds, work) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = window.setTimeout(work, milliseconds);
  };
}
