/** What serves a request, and the values of its path's parameters. */
export interface Found<T> {
  readonly served: T;
  /** By name, unescaped; one whose escapes are malformed stays as it was sent. */
  readonly params: Readonly<Record<string, string>>;
}

interface Route<T> {
  /** Undefined where any text stands for a parameter. */
  readonly literals: readonly (string | undefined)[];
  /** Names of the parameters; undefined for a literal part. */
  readonly names: readonly (string | undefined)[];
  readonly served: T;
}

/**
 * Finds what serves a method and a path by the paths of an OpenAPI document. Literal parts are compared as they were
 * sent: no case is folded, no escape read, no slash at the end left out. A parameter is one part, not empty.
 */
export class Routes<T> {
  /** By the method and the number of parts. */
  readonly #routes = new Map<string, Route<T>[]>();

  /** `path` as a document writes it: `/v1/things/{thingId}`. Of several routes that fit, the first added is found. */
  add(method: string, path: string, served: T): void {
    const parts = partsOf(path);
    const names = parts.map((part) => /^\{(\w+)\}$/.exec(part)?.[1]);
    const literals = parts.map((part, i) => (names[i] === undefined ? part : undefined));
    const key = `${method} ${parts.length}`;
    this.#routes.set(key, [...(this.#routes.get(key) ?? []), { literals, names, served }]);
  }

  /** Undefined where no route has this method and path. */
  find(method: string, path: string): Found<T> | undefined {
    const parts = partsOf(path);
    const route = this.#routes
      .get(`${method} ${parts.length}`)
      ?.find(({ literals }) =>
        literals.every((literal, i) => (literal === undefined ? parts[i] !== '' : literal === parts[i])),
      );
    if (!route) return undefined;
    const params: Record<string, string> = {};
    route.names.forEach((name, i) => {
      if (name !== undefined) params[name] = unescaped(parts[i] as string);
    });
    return { served: route.served, params };
  }
}

const partsOf = (path: string): string[] => path.split('/');

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
