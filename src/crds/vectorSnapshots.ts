import { z } from 'zod'
import { DateTime, Description, listMapOf, ResourceName } from './fields.ts'

/** Maximum snapshots: their files are on the volumes of the peers, beside the data. */
export const SNAPSHOTS_MAX = 10

/** The wanted snapshots: an added one is taken, a removed one is deleted. */
export const VectorSnapshots = listMapOf(
  'name',
  z.strictObject({
    name: ResourceName.describe('Name of the snapshot'),
    description: Description.optional().describe('Purpose, as a text for people'),
  }),
  SNAPSHOTS_MAX,
)
  .default([])
  .describe(
    `Snapshots of its collections, on the volumes of its peers, at most ${SNAPSHOTS_MAX}: one that is added is taken, one that is removed is deleted with its files`,
  )

/** A peer's part of a collection, in one file. */
const Part = z.object({
  peer: z.string().describe('Pod of the peer on whose volume it is'),
  collection: z.string().describe('Collection of the file'),
})

export const TakenSnapshots = z
  .array(
    z.object({
      name: z.string().describe('Name of the snapshot'),
      startedAt: DateTime.optional().describe('When its first file was requested; absent until then'),
      completedAt: DateTime.optional().describe('When its last file was complete; absent until then'),
      failure: z
        .string()
        .optional()
        .describe('Why it is not complete, or no longer complete; absent if nothing is wrong'),
      isLeaving: z.boolean().optional().describe('True while its files are being deleted'),
      files: z
        .array(
          Part.extend({
            file: z.string().describe('Name of the file, in the folder of the collection'),
            sizeBytes: z.int().describe('Bytes of the file'),
          }),
        )
        .describe('Files of the snapshot'),
      pending: Part.extend({
        known: z.array(z.string()).describe('Files of the collection that existed before'),
        askedAt: DateTime.optional().describe('When it was requested from the engine; absent until then'),
      })
        .optional()
        .describe('The file that is being created'),
    }),
  )
  .optional()
  .describe('Snapshots that were taken, are being taken or are being deleted; absent without any')

export type TakenSnapshot = NonNullable<z.output<typeof TakenSnapshots>>[number]
