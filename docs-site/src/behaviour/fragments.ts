/** Notifies the behaviours of new static HTML on the page. */
const listeners = new Set<(root: HTMLElement) => void>();

export const onFragment = (listener: (root: HTMLElement) => void): void => {
  listeners.add(listener);
};
export const announceFragment = (root: HTMLElement): void => {
  for (const listener of listeners) listener(root);
};
