import { changePresence, networkStatus, type Presence, type SessionChange } from './network-status.ts';

const online = (sessionEpoch: number, atMs = sessionEpoch * 100): SessionChange => ({
  ...{ kind: 'online', sessionEpoch, atMs },
});
const offline = (sessionEpoch: number, atMs = sessionEpoch * 100 + 50): SessionChange => ({
  ...{ kind: 'offline', sessionEpoch, atMs },
});
/** Returns the notified changes, and the status at the end. */
function outcome(...changes: SessionChange[]) {
  let presence: Presence = {};
  const words: string[] = [];
  for (const change of changes) {
    const next = changePresence(presence, change);
    presence = next.presence;
    if (next.changed) words.push(`${networkStatus(presence).status.slice(13)} ${change.sessionEpoch}`);
  }
  return [words, networkStatus(presence)];
}
const isOnline = (atMs: number) => ({ status: 'connectivity_online', atMs });
const isOffline = (atMs: number) => ({ status: 'connectivity_offline', atMs });

test('a headset that never had a session is offline, without a time', () => {
  expect(networkStatus({})).toEqual({ status: 'connectivity_offline' });
});

test('each change is notified once, with its session', () => {
  expect(outcome(online(1), offline(1), online(2))).toEqual([
    ['online 1', 'offline 1', 'online 2'],
    isOnline(200),
  ]);
});

test('a session that replaces another session is not a change', () => {
  expect(outcome(online(1), online(2), online(3))).toEqual([['online 1'], isOnline(300)]);
});

test('a repeat causes no notification', () => {
  expect(outcome(online(1), online(1), offline(1), offline(1), online(1))).toEqual([
    ['online 1', 'offline 1'],
    isOffline(150),
  ]);
});

test('the end of a session never hides a newer session, however late it arrives', () => {
  expect(outcome(online(1), online(2), offline(1))).toEqual([['online 1'], isOnline(200)]);
});

test('a hello that arrives after the end of its own session does not make the headset online', () => {
  expect(outcome(online(1), offline(2), online(2))).toEqual([['online 1', 'offline 2'], isOffline(250)]);
});

test('a session does not end before it began, whatever the clocks', () => {
  expect(outcome(online(1, 5000), offline(1, 4000))).toEqual([['online 1', 'offline 1'], isOffline(5000)]);
});
