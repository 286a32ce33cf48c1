const everyMs = 700;

const pageDataOf = (path: string) => `/page-data${path === '/' ? '/index' : path}/page-data.json`;

/**
 * `make site-dev` only: shows a changed guide or OpenAPI document at once. Gatsby's server tells a browser of changed
 * queries, and these pages have none: what it would fetch for the page is compared with what is shown.
 */
export function followContent(): void {
  let shown: { readonly path: string; readonly fragment: string | undefined } | undefined;
  const look = async (): Promise<void> => {
    const path = window.location.pathname;
    const answer = await fetch(pageDataOf(path), { cache: 'no-store' });
    if (!answer.ok) return;
    const { fragment } = (await answer.json()).result?.pageContext ?? {};
    if (path !== window.location.pathname) return;
    if (shown?.path === path && shown.fragment !== fragment) window.location.reload();
    shown = { path, fragment };
  };
  const again = (): void => {
    look()
      .catch(() => undefined)
      .finally(() => setTimeout(again, everyMs));
  };
  again();
}
