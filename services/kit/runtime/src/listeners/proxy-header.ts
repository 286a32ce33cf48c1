import { isIPv4, isIPv6, type Socket } from 'node:net';
import { systemTime, type Time } from '../clock.ts';

/** Header that a layer 4 proxy sends before the connection's own bytes: the PROXY protocol, version 1 or 2. */
export interface ProxyHeader {
  /** Length of the header in bytes. */
  readonly length: number;
  /** Client address. Undefined: the connection is the proxy's own (health checks), or the proxy does not name the client. */
  readonly address: string | undefined;
}

const signatureOf2 = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const signatureOf1 = Buffer.from('PROXY ', 'latin1');
/** Fixed part of a header of version 2. */
const fixedOf2 = 16;
/** Maximum length of a version 1 header, with its line end. */
const mostOf1 = 107;
/** Maximum length of addresses and cloud extensions; the protocol itself allows 64 KiB. */
const mostOf2 = 4096;

/**
 * Reads the header at the beginning of `bytes`; undefined: more bytes are needed. Throws an Error with the reason if the
 * header is invalid. Source: HAProxy's proxy-protocol.txt, sections 2.1 and 2.2.
 */
export function readProxyHeader(bytes: Buffer): ProxyHeader | undefined {
  if (startsLike(bytes, signatureOf2)) return bytes.length < fixedOf2 ? undefined : version2(bytes);
  if (startsLike(bytes, signatureOf1)) return version1(bytes);
  throw new Error('no PROXY header');
}

/** True if the bytes so far match the signature. */
function startsLike(bytes: Buffer, signature: Buffer): boolean {
  const length = Math.min(bytes.length, signature.length);
  return bytes.subarray(0, length).equals(signature.subarray(0, length));
}

function version1(bytes: Buffer): ProxyHeader | undefined {
  const end = bytes.subarray(0, mostOf1).indexOf('\r\n');
  if (end < 0) {
    if (bytes.length >= mostOf1) throw new Error(`a PROXY line of over ${mostOf1} bytes`);
    return undefined;
  }
  const [, family, source = ''] = bytes.toString('latin1', 0, end).split(' ');
  const length = end + 2;
  if (family === 'UNKNOWN') return { length, address: undefined };
  const isRight = family === 'TCP4' ? isIPv4(source) : family === 'TCP6' && isIPv6(source);
  if (!isRight) throw new Error('a PROXY line without a client address');
  return { length, address: source };
}

function version2(bytes: Buffer): ProxyHeader | undefined {
  const [versionAndCommand = 0, family = 0] = bytes.subarray(12, 14);
  const command = versionAndCommand & 0x0f;
  if (versionAndCommand >> 4 !== 2 || command > 1) throw new Error('a PROXY header of an unknown version');
  const length = fixedOf2 + bytes.readUInt16BE(14);
  if (length > mostOf2) throw new Error(`a PROXY header of over ${mostOf2} bytes`);
  if (bytes.length < length) return undefined;
  const source = (size: number) => {
    if (length < fixedOf2 + 2 * size + 4) throw new Error('a PROXY header without a client address');
    return bytes.subarray(fixedOf2, fixedOf2 + size);
  };
  if (command === 1 && family === 0x11) return { length, address: [...source(4)].join('.') };
  if (command === 1 && family === 0x21) return { length, address: textOf6(source(16)) };
  return { length, address: undefined };
}

/** Formats the address as Node does, so that each client has one name. */
function textOf6(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

/**
 * Removes the header from a connection, whose own bytes can be read afterwards. Rejects if there is no header, if it
 * does not arrive in time, or if the connection ends.
 */
export function takeProxyHeader(
  socket: Socket,
  withinMs: number,
  time: Time = systemTime,
): Promise<ProxyHeader> {
  return new Promise((resolve, reject) => {
    let bytes: Buffer = Buffer.alloc(0);
    const settle = (act: () => void) => {
      time.clearTimer(timer);
      socket.off('readable', read).off('close', ended).off('end', ended);
      act();
    };
    const ended = () => settle(() => reject(new Error('the connection ended')));
    const timer = time.setTimeout(() => settle(() => reject(new Error('no PROXY header in time'))), withinMs);
    timer.unref();
    const read = () => {
      for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) {
        bytes = Buffer.concat([bytes, chunk]);
      }
      let header: ProxyHeader | undefined;
      try {
        header = readProxyHeader(bytes);
      } catch (error) {
        settle(() => reject(error));
        return;
      }
      if (!header) return;
      const rest = bytes.subarray(header.length);
      const found = header;
      settle(() => {
        if (rest.length > 0) socket.unshift(rest);
        resolve(found);
      });
    };
    socket.on('readable', read).once('close', ended).once('end', ended);
  });
}
