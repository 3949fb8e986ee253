import { z } from 'zod'
import { defineKind, MAX_LARGE_OBJECT_BYTES, type ObjectOf, statusColumns, statusWith } from './define.ts'
import {
  DateTime,
  Description,
  DisplayName,
  Email,
  MissingSecrets,
  mapOf,
  Off,
  On,
  PersonName,
  PlainText,
  Uuid,
} from './fields.ts'

/** A person, for the local identity provider only. */
export const PlatformUser = defineKind({
  group: 'iam',
  kind: 'PlatformUser',
  restNaming: { collection: 'users' },
  shortNames: ['puser'],
  placement: 'platform',
  bytesMax: MAX_LARGE_OBJECT_BYTES,
  name: 'uuid',
  area: 'identity',
  description:
    'A person who can sign in at the local identity provider. Its name is a uuid, the subject of the tokens.',
  spec: z.strictObject({
    userName: PlainText.min(1)
      .max(128)
      .describe('Sign-in name, case-insensitive; two people with the same name cannot sign in by it'),
    email: Email.optional().describe('E-mail address; also a sign-in name if only one person has it'),
    emailVerified: Off.describe('Whether the address is verified, which is required to accept an invitation'),
    firstName: PersonName.optional().describe('Given name, as tokens contain it'),
    lastName: PersonName.optional().describe('Family name, as tokens contain it'),
    displayName: DisplayName.optional().describe(
      'Name that others see; when absent, first and last name, or else the user name',
    ),
    isEnabled: On.describe('False refuses sign-ins, renewals and all existing tokens of the person'),
    isExternal: Off.describe(
      'True for people who sign in at the identity provider of a tenant, without a password here',
    ),
    tenantIds: z.array(Uuid).max(100).default([]).describe('Ids of the PlatformTenants that the person belongs to'),
    externalIdentity: z
      .strictObject({
        tenantId: Uuid.describe('Name of the SsoConnection through which the person came'),
        alias: PlainText.max(63).describe('Alias of the identity provider in that SsoConnection'),
        issuer: z.string().max(2048).describe('The iss claim of that identity provider'),
        subject: z.string().max(255).describe('The sub claim at that issuer (OpenID Connect Core section 2)'),
        claims: mapOf(z.array(z.string().max(256)).max(200), 20)
          .default({})
          .describe('Claims that bindings check, as the issuer sent them at the last sign-in'),
      })
      .optional()
      .describe('Who the person is at the identity provider of their tenant; written at sign-in'),
  }),
  status: z.object({
    lastSignInAt: DateTime.optional().describe('When the person last signed in, to the hour'),
  }),
  columns: [
    { name: 'User Name', path: '.spec.userName' },
    { name: 'Email', path: '.spec.email' },
    { name: 'Enabled', path: '.spec.isEnabled', type: 'boolean' },
  ],
})
export type PlatformUser = ObjectOf<typeof PlatformUser>

/** A service account for the client_credentials grant. */
export const PlatformClient = defineKind({
  group: 'iam',
  kind: 'PlatformClient',
  shortNames: ['pclient'],
  placement: 'platform',
  name: 'uuid',
  area: 'identity',
  description:
    'A service account. Its name is a uuid and is client id, principalId and subject at once; its secret is in a Secret.',
  spec: z.strictObject({
    displayName: DisplayName,
    description: Description.default(''),
    isEnabled: On.describe('False refuses new tokens and all existing ones of the account'),
    secretName: PlainText.max(63).describe('A Secret in the same namespace whose key client-secret holds the secret'),
  }),
  status: statusWith({
    lastTokenAt: DateTime.describe('When the account last got a token, to the hour'),
    missingSecrets: MissingSecrets,
  }),
  columns: [
    ...statusColumns,
    { name: 'Display Name', path: '.spec.displayName' },
    { name: 'Enabled', path: '.spec.isEnabled', type: 'boolean' },
  ],
})
export type PlatformClient = ObjectOf<typeof PlatformClient>
