import { z } from 'zod'
import { defineKind, type ObjectOf } from './define.ts'
import { DateTime, Description, DisplayName, Uuid } from './fields.ts'

/** A person, for the local identity provider only. */
export const PlatformUser = defineKind({
  group: 'iam',
  kind: 'PlatformUser',
  plural: 'platformusers',
  shortNames: ['puser'],
  placement: 'platform',
  name: 'uuid',
  area: 'identity',
  aggregate: false,
  description:
    'A person who can sign in at the local identity provider. Its name is a uuid, the subject of the tokens.',
  spec: z.strictObject({
    userName: z.string().min(1).max(128),
    email: z.string().max(254).optional(),
    emailVerified: z.boolean().default(false),
    firstName: z.string().max(64).optional(),
    lastName: z.string().max(64).optional(),
    displayName: DisplayName.optional(),
    isEnabled: z.boolean().default(true),
    isExternal: z.boolean().default(false),
    tenantIds: z.array(Uuid).max(100).default([]),
    externalIdentity: z
      .strictObject({
        tenantId: Uuid.describe('Of the SsoConnection through which the person came'),
        alias: z.string().max(63).describe('Of the identity provider there'),
        issuer: z.string().max(2048),
        subject: z.string().max(255).describe('The sub claim at that issuer (OpenID Connect Core section 2)'),
        claims: z
          .record(z.string(), z.array(z.string().max(256)).max(200))
          .meta({ maxProperties: 20 })
          .default({})
          .describe('What the issuer said at the last sign-in, of the claims that bindings ask about'),
      })
      .optional()
      .describe('Who the person is at the identity provider of their tenant; written at sign-in'),
  }),
  status: z.object({ lastSignInAt: DateTime.optional() }),
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
  plural: 'platformclients',
  shortNames: ['pclient'],
  placement: 'platform',
  name: 'uuid',
  area: 'identity',
  aggregate: false,
  description:
    'A service account. Its name is a uuid and is client id, principalId and subject at once; its secret lies in a Secret.',
  spec: z.strictObject({
    displayName: DisplayName,
    description: Description.default(''),
    isEnabled: z.boolean().default(true),
    secretName: z.string().max(63).describe('A Secret in the same namespace whose key client-secret holds the secret'),
  }),
  status: z.object({ lastTokenAt: DateTime.optional() }),
  columns: [
    { name: 'Display Name', path: '.spec.displayName' },
    { name: 'Enabled', path: '.spec.isEnabled', type: 'boolean' },
  ],
})
export type PlatformClient = ObjectOf<typeof PlatformClient>
