/**
 * Names as the broker knows them. Everything else (events, dead letters, metrics, logs) has the platform's
 * own names, so that a prefix may be added to a platform without a change of what it has stored.
 */
export interface KafkaNames {
  topic(topic: string): string;
  /** Offsets are kept by group and topic, so each pair is a group. */
  group(group: string, topic: string): string;
  /** A group that nobody else joins. */
  ownGroup(name: string): string;
}

/** The names of a platform whose topics and groups begin with `prefix`. */
export function kafkaNames(prefix = ''): KafkaNames {
  return {
    topic: (topic) => `${prefix}${topic}`,
    group: (group, topic) => `${prefix}${group}.${topic}`,
    ownGroup: (name) => `${prefix}${name}`,
  };
}
