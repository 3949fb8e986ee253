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
  ['an unchanged invalid field', { size: 10 }, { size: 10, note: 'x' }, []],
  ['a changed invalid field', { size: 10 }, { size: 11 }, ['size']],
  [
    'the invalid value of another field',
    { size: 10, part: { size: 1, needed: 'x' } },
    { part: { size: 10, needed: 'x' } },
    ['part.size'],
  ],
  [
    'an invalid field beside a change of its object',
    { part: { size: 10, needed: 'x' } },
    { part: { size: 10, needed: 'y' } },
    [],
  ],
  ['an unchanged object that lacks a required field', { part: { size: 1 } }, { part: { size: 1 }, note: 'x' }, []],
  ['a changed object that lacks a required field', { part: { size: 1 } }, { part: { size: 2 } }, ['part.needed']],
  ['an unchanged entry of a map', { sizes: { a: 10 } }, { sizes: { a: 10, b: 1 } }, []],
  ['an entry of a map under another key', { sizes: { a: 10 } }, { sizes: { b: 10 } }, ['sizes.b']],
  [
    'an unchanged map with too many entries',
    { sizes: { a: 1, b: 1, c: 1 } },
    { sizes: { a: 1, b: 1, c: 1 }, note: 'x' },
    [],
  ],
  ['a changed map with too many entries', { sizes: { a: 1, b: 1, c: 1 } }, { sizes: { a: 2, b: 1, c: 1 } }, ['sizes']],
  ['a moved item of a list map', { merged: [a, b] }, { merged: [b, a] }, []],
  [
    'an item of a list map with a change in another field',
    { merged: [a] },
    { merged: [fine, { ...a, note: 'x' }] },
    [],
  ],
  [
    'an item of a list map with the value of another item',
    { merged: [a, b] },
    { merged: [{ ...a, size: 11 }, b] },
    ['merged.0.size'],
  ],
  ['an item of a list map under another key', { merged: [a] }, { merged: [{ ...a, name: 'z' }] }, ['merged.0.size']],
  ['an unchanged list map with too many items', { merged: [a, b, fine] }, { merged: [a, b, fine], note: 'x' }, []],
  [
    'a changed list map with too many items',
    { merged: [a, b, fine] },
    { merged: [a, b, { ...fine, size: 2 }] },
    ['merged'],
  ],
  ['an item of an unchanged atomic list', { whole: [a] }, { whole: [a], note: 'x' }, []],
  ['an item of a changed atomic list', { whole: [a] }, { whole: [a, fine] }, ['whole.0.size']],
  ['a value of an unchanged set', { set: ['long'] }, { set: ['long'], note: 'x' }, []],
  ['a value of a changed set', { set: ['long'] }, { set: ['long', 'x'] }, ['set.0']],
  ['an unchanged text with an invisible character', { title: hidden }, { title: hidden, note: 'x' }, []],
  ['a changed text with an invisible character', { title: hidden }, { title: `${hidden}s` }, ['title']],
  [
    'an unchanged text with an invisible character in an item',
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
    'a text with an invisible character moved to another item',
    { merged: [{ ...fine, title: hidden }] },
    { merged: [{ name: 'd', title: hidden }, fine] },
    ['merged.0.title'],
  ],
]
