/** What had the focus is gone, as a button that has done its work: the keyboard would begin at the top of the page. */
export const isFocusLost = (): boolean =>
  document.activeElement === null || document.activeElement === document.body;
