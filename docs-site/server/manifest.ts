/** What the build tells the server (build/dist.ts writes it as `server.json` beside the files). */
export interface Manifest {
  /** Hash of the content by path from the folder (`/docs/introduction/about/index.html`). */
  readonly etags: Readonly<Record<string, string>>;
  /** CSP hashes of the inline scripts and styles of each HTML file. */
  readonly inline: Readonly<
    Record<string, { readonly scripts: readonly string[]; readonly styles: readonly string[] }>
  >;
  /** Origin of the announcements where it is not the site's own. */
  readonly announcementsOrigin: string | null;
}
