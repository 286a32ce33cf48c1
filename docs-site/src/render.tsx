import type { FunctionComponent } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { components } from './content';
import { ApiReference, describeApi } from './reference';
import type { ApiInput, ApiPage } from './reference/types';

export { ja } from './strings/ja';
export { home } from './theme/Home/content';

/** Renders fragments and exports the strings, for the build only (bundled by build/renderer.ts). Never hydrated. */
export function renderGuide(Content: FunctionComponent<{ components: typeof components }>): string {
  return renderToStaticMarkup(<Content components={components} />);
}

export function renderApi(input: ApiInput): { page: ApiPage; html: string } {
  const page = describeApi(input);
  return { page, html: renderToStaticMarkup(<ApiReference {...input} page={page} />) };
}
