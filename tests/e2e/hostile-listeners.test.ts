import { describeOnStack, stack } from './harness.ts';
import { rawStatuses } from './raw-http.ts';

/** A listener's name and address, and a request with its expected status. */
type Listener = [name: string, url: () => string, path: string, status: number];

/** Malformed bytes for all listeners except the API; hostile-requests.test.ts has those for the API. */
describeOnStack('hostile requests at the other listeners', () => {
  const listeners: Listener[] = [
    ["Sora's webhooks", () => stack.soraWebhookUrl, '/webhooks/sora/a', 405],
    ['the operators’ listener', () => Object.values(stack.adminUrls)[0] ?? '', '/livez', 200],
    // With S3 the platform serves no files itself.
    ...(stack.kind === 'embedded' ? [['files', () => stack.filesUrl, '/a', 403] satisfies Listener] : []),
  ];
  const secret = 'GET /hidden HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
  const closing = 'Connection: close\r\n';
  const request = (line: string, more = '') => `${line} HTTP/1.1\r\nHost: 127.0.0.1\r\n${more}\r\n`;
  const hostile: Record<string, string> = {
    'both lengths': `${request('POST /a', `Content-Length: ${secret.length}\r\nTransfer-Encoding: chunked\r\n`)}0\r\n\r\n${secret}`,
    'two lengths': `${request('POST /a', `Content-Length: 0\r\nContent-Length: ${secret.length}\r\n`)}${secret}`,
    'an unknown coding': `${request('POST /a', 'Transfer-Encoding: xchunked\r\n')}0\r\n\r\n${secret}`,
    'a bad chunk size': `${request('POST /a', 'Transfer-Encoding: chunked\r\nConnection: close\r\n')}zz\r\n${secret}`,
    'a bare line feed': `GET /a HTTP/1.1\r\nHost: 127.0.0.1\r\nX: 1\nY: 2\r\n\r\n${secret}`,
    'NUL in a header': `${request('GET /a', 'X: \u0000\r\n')}${secret}`,
    'a folded header': request('GET /a', `X: 1\r\n Content-Length: 0\r\n${closing}`),
    'a header of 100,000 bytes': request('GET /a', `X: ${'x'.repeat(100_000)}\r\n`),
    'a target of 100,000 bytes': request(`GET /${'x'.repeat(100_000)}`),
    'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'a TLS hello': '\u0016\u0003\u0001\u0002\u0000\u0001\u0000',
    'an inner address': `GET http://169.254.169.254/latest HTTP/1.1\r\nHost: 169.254.169.254\r\n${closing}\r\n`,
    'CONNECT to an inner port': 'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: 127.0.0.1:22\r\n\r\n',
    ...Object.fromEntries(
      [
        ...[
          '/../../../../etc/passwd',
          '/%2e%2e/%2e%2e/etc/passwd',
          '//etc/passwd',
          '/%00',
          '/%',
          '/..%5c..%5c',
        ],
        ...[
          '/objects/../../etc/passwd',
          '/objects/..%2f..%2fetc%2fpasswd',
          '/uploads/%252e%252e/a',
          '/__proto__',
        ],
      ].map((path) => [`the path ${path}`, request(`GET ${path}`, closing)]),
    ),
  };

  // protects against sora/http, operators/http, files/http
  it.each(listeners)(
    '%s: an invalid request is rejected once, and the bytes after it are not parsed',
    async (_, url, path, status) => {
      const answered = await Promise.all(
        Object.entries(hostile).map(
          async ([what, bytes]) => [what, await rawStatuses(bytes, url())] as const,
        ),
      );
      for (const [what, statuses] of answered) {
        expect([what, statuses.length <= 1, statuses.every((s) => s >= 400 && s < 500)]).toEqual([
          what,
          true,
          true,
        ]);
      }
      expect(await rawStatuses(request(`GET ${path}`, closing), url())).toEqual([status]);
    },
  );

  const everyListener: Listener[] = [['the API', () => stack.apiUrl, '/a', 403], ...listeners];

  // protects against rest/pipelining, sora/http, operators/http, files/http
  it.each(everyListener)(
    '%s: of a thousand requests at once on one connection 16 are served, the next gets 503, and the connection ends',
    async (_, url, path, status) => {
      const asked = request(`GET ${path}`).repeat(1000);
      expect(await rawStatuses(asked, url())).toEqual([...Array(16).fill(status), 503]);
      expect(await rawStatuses(request(`GET ${path}`, closing), url())).toEqual([status]);
    },
  );
});
