import { EventEmitter } from 'node:events';
import { expect, test } from '@jest/globals';
import { ask, type Keyboard } from './prompt.ts';

// protects against hc/secret-shown
test('hides the input before it asks, so that a secret that is typed at once is not shown', async () => {
  const order: string[] = [];
  const keys = new EventEmitter();
  const keyboard = Object.assign(keys, {
    setRawMode: (raw: boolean) => order.push(`raw ${raw}`),
    resume: () => keys.emit('data', Buffer.from('secret\r')),
    pause() {},
  }) as unknown as Keyboard;
  expect(await ask(keyboard, (text) => order.push(text), 'Secret: ', true)).toBe('secret');
  expect(order).toEqual(['raw true', 'Secret: ', 'raw false', '\n']);
});
