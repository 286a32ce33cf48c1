import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** A DNS server on loopback that returns its current addresses for every A query. */
export interface DnsServer {
  readonly port: number;
  /** IPv4 addresses. */
  addresses: readonly string[];
  close(): void;
}

const typeA = 1;

export async function startDns(): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const server = {
    port: 0,
    addresses: [] as readonly string[],
    close: () => socket.close(),
  };
  socket.on('message', (question, { port, address }) => {
    // The name: labels with their length before them, up to an empty one; then type and class, 2 bytes each.
    let end = 12;
    while (question[end]) end += 1 + (question[end] as number);
    const asked = question.subarray(12, end + 5);
    const found = question.readUInt16BE(end + 1) === typeA ? server.addresses : [];
    const head = Buffer.alloc(12);
    question.copy(head, 0, 0, 2);
    // An authoritative answer without an error, to one question.
    head.writeUInt16BE(0x8580, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(found.length, 6);
    const records = found.map((one) => {
      // A pointer to the name at byte 12; type A, class IN, TTL 0, 4 bytes.
      const record = Buffer.from([0xc0, 12, 0, typeA, 0, 1, 0, 0, 0, 0, 0, 4]);
      return Buffer.concat([record, Buffer.from(one.split('.').map(Number))]);
    });
    socket.send(Buffer.concat([head, asked, ...records]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  server.port = socket.address().port;
  return server;
}
