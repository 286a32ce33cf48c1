import { Context } from 'mingo/core';
import * as expressions from 'mingo/operators/expression';
import { updateOne } from 'mingo/updater';
import type { Document } from 'mongodb';
import { sameValue } from './order.ts';
import { serverError } from './store-errors.ts';
import { cloneValue, normaliseDocument } from './values.ts';

// biome-ignore lint/suspicious/noExplicitAny: a module namespace is an operator table
const options = { context: Context.init().addExpressionOps(expressions as any), scriptEnabled: false };

/** Applies an update pipeline ($set, $unset, $project, $replaceWith …) by mingo; answers as `Update` does. */
export function applyPipeline(document: Document, pipeline: Document[]): readonly string[] {
  const holder: Document[] = [cloneValue(document)];
  try {
    // biome-ignore lint/suspicious/noExplicitAny: mingo types stages more narrowly than the driver
    updateOne(holder, {}, pipeline as any, { cloneMode: 'deep' }, options);
  } catch (error) {
    throw serverError('failedToParse', error instanceof Error ? error.message : String(error), {
      cause: error,
    });
  }
  const next = normaliseDocument(holder[0] as Document);
  if (!('_id' in next) && '_id' in document) next['_id'] = document['_id'];
  const names = new Set([...Object.keys(document), ...Object.keys(next)]);
  const touched = [...names].filter(
    (name) => !(name in next && name in document && sameValue(document[name], next[name])),
  );
  for (const name of touched) {
    if (name in next) document[name] = next[name];
    else delete document[name];
  }
  return touched;
}
