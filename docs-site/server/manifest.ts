/** The built site's description for the server; build/dist.ts writes it as `server.json` next to the files. */
export interface Manifest {
  /** Hash of the content, by path relative to the folder (`/docs/introduction/about/index.html`). */
  readonly etags: Readonly<Record<string, string>>;
  /** CSP hashes of the inline scripts and styles of each HTML file. */
  readonly inline: Readonly<
    Record<string, { readonly scripts: readonly string[]; readonly styles: readonly string[] }>
  >;
  /** Origin of the announcements; null if it is the site's own origin. */
  readonly announcementsOrigin: string | null;
}
