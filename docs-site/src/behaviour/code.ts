import { ja } from '../strings/ja';
import { onFragment } from './fragments';

const confirmationMs = 1000;
/** Longer than `confirmationMs`: the message of a failure is a whole sentence. */
const failureMs = 2000;
const restore = new WeakMap<HTMLElement, number>();

/** Live region. It must exist before its text changes: otherwise screen readers announce nothing. */
const region = (() => {
  let node: HTMLElement | undefined;
  return (): HTMLElement => {
    if (node) return node;
    node = document.createElement('div');
    node.className = 'visually-hidden';
    node.setAttribute('role', 'status');
    document.body.append(node);
    return node;
  };
})();

function say(button: HTMLElement, text: string, state: 'done' | 'failed'): void {
  button.dataset['state'] = state;
  button.setAttribute('aria-label', text);
  region().textContent = text;
  clearTimeout(restore.get(button));
  restore.set(
    button,
    window.setTimeout(
      () => {
        delete button.dataset['state'];
        button.setAttribute('aria-label', ja.code.copy);
        region().textContent = '';
      },
      state === 'failed' ? failureMs : confirmationMs,
    ),
  );
}

async function copy(button: HTMLElement): Promise<void> {
  const text = button.closest('.code')?.querySelector('code')?.textContent ?? '';
  try {
    await navigator.clipboard.writeText(text);
    say(button, ja.code.copied, 'done');
  } catch {
    say(button, ja.code.failed, 'failed');
  }
}

function wrap(button: HTMLElement): void {
  const pre = button.closest('.code')?.querySelector('pre');
  if (!pre) return;
  const on = pre.classList.toggle('code__pre--wrapped');
  button.setAttribute('aria-pressed', String(on));
}

/** Whether to show the wrap button: a line is too long, or wrapping is on. */
const offersWrap = (pre: Element): boolean =>
  pre.classList.contains('code__pre--wrapped') || pre.scrollWidth > pre.clientWidth;

/** Starts the copy and wrap buttons of code blocks. */
export function startCode(): void {
  region();
  const sizes = new ResizeObserver((entries) => {
    // Skips blocks without a width: they have no layout yet, and reading their size would force one. Reads all sizes
    // before the first change: each read after a change forces another layout.
    const shown = entries.filter(({ contentRect }) => contentRect.width > 0);
    const offers = shown.map(({ target }) => offersWrap(target));
    for (const [index, { target }] of shown.entries()) {
      const button = target.closest('.code')?.querySelector<HTMLElement>('[data-code=wrap]');
      if (button) button.hidden = !offers[index];
    }
  });
  onFragment((root) => {
    for (const pre of root.querySelectorAll('.code__pre')) sizes.observe(pre);
  });
  document.addEventListener('click', (event) => {
    const button = (event.target as Element | null)?.closest<HTMLElement>('[data-code]');
    if (button?.dataset['code'] === 'copy') void copy(button);
    if (button?.dataset['code'] === 'wrap') wrap(button);
  });
}
