import { isIPv4, isIPv6, type Socket } from 'node:net';
import { systemTime, type Time } from '../clock.ts';

/** Header that a layer 4 proxy sends before the connection's own bytes: the PROXY protocol, version 1 or 2. */
export interface ProxyHeader {
  /** Length of the header in bytes. */
  readonly length: number;
  /** Client address; undefined: the header contains none, for example because the proxy itself checks the health. */
  readonly address: string | undefined;
}

const signatureV2 = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const signatureV1 = Buffer.from('PROXY ', 'latin1');
/** Length of the fixed part of a version 2 header. */
const fixedBytesV2 = 16;
/** Maximum length of a version 1 header, with its line end. */
const maxBytesV1 = 107;
/** Maximum length of a version 2 header with addresses and extensions of clouds; the protocol itself allows 64 KiB. */
const maxBytesV2 = 4096;

/**
 * Reads the header at the beginning of `bytes`; undefined: more bytes are needed. Throws an Error with the reason if the
 * header is invalid. Source: HAProxy's proxy-protocol.txt, sections 2.1 and 2.2.
 */
export function readProxyHeader(bytes: Buffer): ProxyHeader | undefined {
  if (startsLike(bytes, signatureV2)) return bytes.length < fixedBytesV2 ? undefined : version2(bytes);
  if (startsLike(bytes, signatureV1)) return version1(bytes);
  throw new Error('no PROXY header');
}

/** True if the bytes so far match the signature. */
function startsLike(bytes: Buffer, signature: Buffer): boolean {
  const length = Math.min(bytes.length, signature.length);
  return bytes.subarray(0, length).equals(signature.subarray(0, length));
}

function version1(bytes: Buffer): ProxyHeader | undefined {
  const end = bytes.subarray(0, maxBytesV1).indexOf('\r\n');
  if (end < 0) {
    if (bytes.length >= maxBytesV1) throw new Error(`a PROXY line of over ${maxBytesV1} bytes`);
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
  const length = fixedBytesV2 + bytes.readUInt16BE(14);
  if (length > maxBytesV2) throw new Error(`a PROXY header of over ${maxBytesV2} bytes`);
  if (bytes.length < length) return undefined;
  const source = (size: number) => {
    if (length < fixedBytesV2 + 2 * size + 4) throw new Error('a PROXY header without a client address');
    return bytes.subarray(fixedBytesV2, fixedBytesV2 + size);
  };
  if (command === 1 && family === 0x11) return { length, address: [...source(4)].join('.') };
  if (command === 1 && family === 0x21) return { length, address: textOfIPv6(source(16)) };
  return { length, address: undefined };
}

/** Formats an IPv6 address as Node does, so that each client has one key. */
function textOfIPv6(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

/**
 * Reads the header and removes it from the connection, so that the client's bytes are read next. Rejects if there is no
 * valid header, if the header does not arrive in time, or if the connection ends.
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
