import type { ReactElement, ReactNode } from 'react';
import { CrashPage, ErrorBoundary } from './ErrorBoundary';

/** Above everything, Gatsby's own scroll handler included: whatever throws leaves no white page. */
export function Root({ children }: { readonly children: ReactNode }): ReactElement {
  return (
    <ErrorBoundary path="" fallback={CrashPage}>
      {children}
    </ErrorBoundary>
  );
}
