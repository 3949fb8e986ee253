import { z } from 'zod'
import { VaultEntry } from '../../crds/vaults.ts'
import { strictRecord } from '../http/namedRecord.ts'
import { DateTime } from '../resources/dto.ts'
import { withKindDescriptions } from '../resources/writtenBody.ts'

// Normalizes times, because Kubernetes stores the text as given: equal times must be equal texts.
const Time = DateTime.transform((text) => new Date(text).toISOString().replace('.000Z', 'Z'))

const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined) as unknown as z.ZodType<
    z.output<Schema> | undefined,
    z.input<Schema> | null | undefined
  >

/** Interface section 2; bounds of the records of secret vaults. */
const Request = strictRecord('SetSecretRequest', {
  value: z.string().max(65_536).describe('At most 65536 bytes of UTF-8'),
  contentType: optional(VaultEntry.spec.shape.contentType.unwrap()),
  enabled: z
    .boolean()
    .nullish()
    .transform((enabled) => enabled ?? true),
  notBefore: optional(Time),
  expiresOn: optional(Time),
  tags: optional(VaultEntry.spec.shape.tags.unwrap()),
})
export const SetSecretRequest = withKindDescriptions(Request, VaultEntry)
export type SetSecretRequest = z.output<typeof SetSecretRequest>
