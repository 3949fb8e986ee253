import { z } from 'zod'
import { FILE_REFUSALS, type FileAnswer, LISTED_ENTRIES_MAX } from '../../contracts/files.ts'
import { hasMoreValues } from '../../core/jsonValues.ts'
import { tryParseJson } from '../../core/tryParseJson.ts'

/** Validates answers from the pod, because an attacker may control the cluster that it runs in. */

/** JSON values per entry, counted by commas and brackets. */
const VALUES_PER_ENTRY = 8
/** JSON values of an answer without entries. */
const VALUES_OVERHEAD = 100

const Text = z.string().refine((text) => text.isWellFormed())
const Count = z.int().nonnegative()
const Entry = z.object({
  name: Text,
  path: Text,
  type: z.enum(['File', 'Directory', 'Link']),
  sizeBytes: Count,
  modifiedAt: z.iso.datetime(),
  mode: z.string().regex(/^[0-7]{1,6}$/),
  linkTarget: Text.nullable(),
})
const Answer: z.ZodType<FileAnswer> = z.union([
  z.object({ refused: z.enum(FILE_REFUSALS), sizeBytes: Count.exactOptional() }),
  z.object({ entries: z.array(Entry).max(LISTED_ENTRIES_MAX), truncated: z.boolean() }),
  z
    .object({ file: Entry, first: Count, last: z.int().min(-1) })
    .refine(({ file, first, last }) => last >= first - 1 && last < file.sizeBytes),
  z.object({ archive: Text }),
  z.object({ entry: Entry, isNew: z.boolean() }),
  z.object({ removed: z.literal(true) }),
])

/** @throws Error if the text is not a valid answer */
export function readAnswer(text: string): FileAnswer {
  const isDense = hasMoreValues(text, LISTED_ENTRIES_MAX * VALUES_PER_ENTRY + VALUES_OVERHEAD)
  const read = Answer.safeParse(isDense ? undefined : tryParseJson(text))
  if (!read.success) throw new Error('The pod beside the volume said what is no answer.')
  return read.data
}
