/** Whether the focused element was removed, for example a button after its action. Tab would start at the page's top. */
export const isFocusLost = (): boolean =>
  document.activeElement === null || document.activeElement === document.body;
