import { type Listener, openListener } from './testing/listener.ts';
import { run } from './testing/run.ts';

const imei = '356938035643809';
/** Color, line break, C1 start of a control sequence, bidirectional mark, line separator, an invisible tag. */
const foreign = '\u001b[31mred\r\nfalse  line\u009b2J\u202eabc\u2028\u{e0041}';
const visible = String.raw`\u001b[31mred\u000d\u000afalse  line\u009b2J\u202eabc\u2028\udb40\udc41`;
let listener: Listener;

afterEach(() => listener.close());

const ctl = (args: string) => run(args, { ADMIN_URL: listener.url });

// protects against operators/terminal
describe('control characters in texts from others are escaped', () => {
  test('in tables: every row is one line, and the columns stay aligned', async () => {
    const actor = { clientId: 'acme', tokenId: foreign, requestId: 'r1' };
    listener = await openListener({
      audit: { records: [{ actor, action: foreign }, { action: 'b' }], nextCursor: foreign },
    });
    const { out } = await ctl('audit list');
    const [head = '', first = '', second = '', more, ...rest] = out.split('\n');
    expect(first).toBe(`-     acme   -     ${visible}  -        -       ${visible}  r1`);
    expect(second.indexOf('b')).toBe(head.indexOf('ACTION'));
    expect(more).toBe(`More: --after ${visible}`);
    expect(rest).toEqual(['']);
  });

  test('in single values, also in a field with several values', async () => {
    listener = await openListener({
      device: {
        clientVersion: foreign,
        keyIds: ['k1', 'k2'],
        status: {
          firmwareVersion: foreign,
          languages: [foreign],
          apps: [
            { package: foreign, version: '1' },
            { package: 'b', version: foreign },
          ],
        },
      },
    });
    const { out } = await ctl(`devices show ${imei}`);
    expect(out).toContain(
      `client version   ${visible}\nkeys             k1\n                 k2\nfirmware         ${visible}\n`,
    );
    expect(out).toContain(
      `languages        ${visible}\napps             ${visible} 1\n                 b ${visible}\npower            -\n`,
    );
  });

  test("in a transaction's end", async () => {
    listener = await openListener({
      transaction: { transaction: { transactionId: 42n }, endMessage: foreign },
    });
    const { out } = await ctl('transactions show 42');
    expect(out).toContain(`end message         ${visible}\nattempts `);
  });

  test('in the error of a service', async () => {
    listener = await openListener({ missing: `No device ${foreign}.` });
    expect(await ctl(`devices show ${imei}`)).toEqual({ code: 1, out: '', err: `No device ${visible}.\n` });
  });

  test('in the reason why a process is not ready', async () => {
    listener = await openListener({ notReady: [foreign] });
    const { out } = await ctl('status');
    expect(out).toContain(`no     `);
    expect(out.split('\n').filter((line) => line.endsWith(visible))).toHaveLength(out.split('\n').length - 2);
  });

  test('JSON contains the unchanged values', async () => {
    listener = await openListener({ transaction: { endMessage: foreign } });
    const { out } = await ctl('transactions show 42 --json');
    expect(JSON.parse(out).endMessage).toBe(foreign);
    expect(out).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  });
});
