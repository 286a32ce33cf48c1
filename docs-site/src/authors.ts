const everyMs = 700;

const pageDataOf = (path: string) => `/page-data${path === '/' ? '/index' : path}/page-data.json`;

/**
 * Reloads the page when its guide or OpenAPI document has changed; `make site-dev` only. Gatsby's development server
 * announces only changed queries, and these pages have no queries. So the page polls its page data and compares the
 * fragment's address.
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
