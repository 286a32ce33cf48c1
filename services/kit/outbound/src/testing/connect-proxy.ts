import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';

/** Behaviour of the proxy for the next tunnels: opens them, returns a status, or fails. */
export type ProxyConduct = 'open' | 'silent' | 'garbage' | 'hang up' | { readonly status: number };

/** An HTTP proxy that knows CONNECT only, for tests. */
export interface ConnectProxy {
  readonly origin: string;
  conduct: ProxyConduct;
  /** The header Proxy-Authorization that the proxy requires, else 407. */
  demanded: string | undefined;
  /** Real address of a host; by default its own address, if it has one. */
  route: (host: string) => string | undefined;
  /** Requested targets, in order: `host:port`. */
  readonly asked: string[];
  /** All headers and targets that the proxy received. */
  heard(): string;
  /** Tunnels that are open now. */
  tunnels(): number;
  /** Closes everything; the port then rejects connections. */
  close(): Promise<void>;
}

/** With a certificate the proxy itself uses TLS, as https://localhost. */
export async function startConnectProxy(tls?: { key: string; cert: string }): Promise<ConnectProxy> {
  const sockets = new Set<Socket>();
  const open = new Set<Socket>();
  const heard: string[] = [];
  // Other methods than CONNECT indicate a wrong client.
  const refuse: RequestListener = (_, response) => response.writeHead(501).end();
  const server = tls ? createTlsServer(tls, refuse) : createServer(refuse);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
  });
  server.on('connect', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const target = request.url ?? '';
    proxy.asked.push(target);
    heard.push(target, ...request.rawHeaders);
    const { conduct, demanded } = proxy;
    const answer = (status: number) => socket.end(`HTTP/1.1 ${status} Said\r\ncontent-length: 0\r\n\r\n`);
    if (conduct === 'silent') return;
    if (conduct === 'hang up') return void socket.destroy();
    if (conduct === 'garbage') return void socket.end('SSH-2.0-OpenSSH_9.2\r\n');
    if (demanded && request.headers['proxy-authorization'] !== demanded) return void answer(407);
    if (typeof conduct === 'object') return void answer(conduct.status);
    const { hostname, port } = new URL(`http://${target}`);
    const host = proxy.route(hostname.replace(/^\[(.*)\]$/, '$1'));
    if (!host) return void answer(502);
    const to = connect({ host, port: Number(target.slice(target.lastIndexOf(':') + 1)) || Number(port) });
    to.once('connect', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      to.write(head);
      open.add(socket);
      socket.pipe(to).pipe(socket);
    });
    to.on('error', () => (open.has(socket) ? socket.destroy() : answer(502)));
    socket.on('close', () => {
      open.delete(socket);
      to.destroy();
    });
    sockets.add(to);
    to.on('close', () => sockets.delete(to));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy: ConnectProxy = {
    origin: `${tls ? 'https://localhost' : 'http://127.0.0.1'}:${(server.address() as AddressInfo).port}`,
    conduct: 'open',
    demanded: undefined,
    route: (host) => host,
    asked: [],
    heard: () => heard.join('\n'),
    tunnels: () => open.size,
    async close() {
      const closed = server.listening ? once(server, 'close') : undefined;
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
  return proxy;
}
