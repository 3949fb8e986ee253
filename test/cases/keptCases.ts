import { z } from 'zod'
import { DisplayName, listMapOf, listSetOf, mapOf } from '../../src/crds/fields.ts'

const Small = z.int().max(9).optional()
const Item = z.strictObject({
  name: z.string(),
  size: Small,
  note: z.string().optional(),
  title: DisplayName.optional(),
})

/** A spec of this version: sizes are at most 9, texts in sets have at most 3 characters. */
export const NARROWED = z.strictObject({
  size: Small,
  note: z.string().optional(),
  title: DisplayName.optional(),
  part: z.strictObject({ size: Small, note: z.string().optional(), needed: z.string() }).optional(),
  sizes: mapOf(z.int().max(9), 2).optional(),
  merged: listMapOf('name', Item, 2).optional(),
  whole: z.array(Item).max(2).optional(),
  set: listSetOf(z.string().max(3), 5).optional(),
})

const [a, b] = [
  { name: 'a', size: 10 },
  { name: 'b', size: 11 },
]
const fine = { name: 'c', size: 1 }
const hidden = 'Te\u200bam'

/** What an earlier version stored, the new write, and the fields that are refused. */
export const KEPT_CASES: readonly [sentence: string, stored: object, next: object, refused: readonly string[]][] = [
  ['a field that is as it was', { size: 10 }, { size: 10, note: 'x' }, []],
  ['a field that changes', { size: 10 }, { size: 11 }, ['size']],
  [
    'a field that another one has',
    { size: 10, part: { size: 1, needed: 'x' } },
    { part: { size: 10, needed: 'x' } },
    ['part.size'],
  ],
  ['a field of a record that changes', { part: { size: 10, needed: 'x' } }, { part: { size: 10, needed: 'y' } }, []],
  ['what a record lacks, while it is as it was', { part: { size: 1 } }, { part: { size: 1 }, note: 'x' }, []],
  ['what a record lacks that changes', { part: { size: 1 } }, { part: { size: 2 } }, ['part.needed']],
  ['an entry of a map', { sizes: { a: 10 } }, { sizes: { a: 10, b: 1 } }, []],
  ['an entry of a map under another name', { sizes: { a: 10 } }, { sizes: { b: 10 } }, ['sizes.b']],
  ['a map that is too large', { sizes: { a: 1, b: 1, c: 1 } }, { sizes: { a: 1, b: 1, c: 1 }, note: 'x' }, []],
  ['a map that is too large and changes', { sizes: { a: 1, b: 1, c: 1 } }, { sizes: { a: 2, b: 1, c: 1 } }, ['sizes']],
  ['an item of a merged list that has moved', { merged: [a, b] }, { merged: [b, a] }, []],
  [
    'an item of a merged list of which something else changes',
    { merged: [a] },
    { merged: [fine, { ...a, note: 'x' }] },
    [],
  ],
  [
    'an item of a merged list with the value of another',
    { merged: [a, b] },
    { merged: [{ ...a, size: 11 }, b] },
    ['merged.0.size'],
  ],
  ['an item of a merged list under another key', { merged: [a] }, { merged: [{ ...a, name: 'z' }] }, ['merged.0.size']],
  ['a merged list that is too long', { merged: [a, b, fine] }, { merged: [a, b, fine], note: 'x' }, []],
  [
    'a merged list that is too long and changes',
    { merged: [a, b, fine] },
    { merged: [a, b, { ...fine, size: 2 }] },
    ['merged'],
  ],
  ['an item of another list that is as it was', { whole: [a] }, { whole: [a], note: 'x' }, []],
  ['an item of another list that changes', { whole: [a] }, { whole: [a, fine] }, ['whole.0.size']],
  ['a text of a set that is as it was', { set: ['long'] }, { set: ['long'], note: 'x' }, []],
  ['a text of a set that changes', { set: ['long'] }, { set: ['long', 'x'] }, ['set.0']],
  ['a text that holds what cannot be seen', { title: hidden }, { title: hidden, note: 'x' }, []],
  ['such a text that changes', { title: hidden }, { title: `${hidden}s` }, ['title']],
  [
    'such a text of an item',
    { merged: [{ ...fine, title: hidden }] },
    {
      merged: [
        { ...a, size: 1 },
        { ...fine, title: hidden },
      ],
    },
    [],
  ],
  [
    'such a text of another item',
    { merged: [{ ...fine, title: hidden }] },
    { merged: [{ name: 'd', title: hidden }, fine] },
    ['merged.0.title'],
  ],
]
