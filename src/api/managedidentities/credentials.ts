import { z } from 'zod'
import { CLIENT_SECRET_KEY, managedIdentitySecretName } from '../../contracts/managedIdentities.ts'
import { summaryOf } from '../../core/conditions.ts'
import type { PlatformError } from '../../core/errors.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { refOf } from '../../core/object.ts'
import { secretText } from '../../core/secretData.ts'
import { ManagedIdentity } from '../../crds/managedidentities.ts'
import { type Answer, NO_STORE, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import type { SecretReader } from '../records/secrets.ts'
import { DateTime } from '../resources/dto.ts'
import { invalidState } from '../resources/invalidState.ts'
import { pollUntilChanged } from '../resources/pollUntilChanged.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { type IdentityRecord, isReady, principalOf } from './record.ts'

declare module '../http/context.ts' {
  interface Services {
    readonly managedIdentities: {
      readonly secrets: SecretReader
      /** Where identities get their tokens. */
      readonly signIn: { readonly tokenUrl: string; readonly audience: string; readonly realm: string }
    }
  }
}

export const ManagedIdentityCredentialsDto = namedRecord('ManagedIdentityCredentialsDto', {
  grantType: z.literal('client_credentials'),
  clientId: z.string(),
  clientSecret: z.string(),
  tokenUrl: z.string(),
  audience: z.string(),
  realm: z.string(),
  expiresAt: DateTime.nullable().describe('Of the secret; null: until it is rotated'),
  secretVersion: z.int(),
})

/** @throws PlatformError INVALID_STATE while the requested secret version does not exist */
export async function readCredentials(
  context: Context,
  object: IdentityRecord,
): Promise<Answer<z.input<typeof ManagedIdentityCredentialsDto>>> {
  const { secrets, signIn } = context.services.managedIdentities
  refuseWhileDeleting(object)
  const clientId = principalOf(object)
  const { secretVersion } = object.spec
  const found = isReady(object)
    ? await secrets.read(SYSTEM_NAMESPACE, managedIdentitySecretName(clientId, secretVersion))
    : undefined
  const clientSecret = secretText(found, CLIENT_SECRET_KEY) ?? ''
  if (clientSecret === '') throw notReady(object)
  const body = { clientId, clientSecret, ...signIn, expiresAt: null, secretVersion }
  return ok({ grantType: 'client_credentials', ...body }, { headers: NO_STORE })
}

function notReady(object: IdentityRecord): PlatformError {
  if (isReady(object))
    return invalidState(object, 'The secret of this identity is missing: ask for a new one with rotate=true.')
  const { status, statusMessage } = summaryOf(object)
  // Waiting does not help until somebody fixes the cause.
  if (status === 'Failed') return invalidState(object, `This identity has no credentials: ${statusMessage}`)
  return invalidState(object, 'The credentials of this identity are not ready yet: try again.')
}

/** Requests a new secret and waits briefly for it. The old one stops working when the new one takes effect. */
export async function rotateCredentials(context: Context, object: IdentityRecord): Promise<IdentityRecord> {
  const { records } = context.services
  const ref = refOf(object)
  const { object: requested } = await records.update(ManagedIdentity, ref, {
    caller: context.caller,
    ifMatch: context.ifMatch,
    change: (stored) => {
      refuseWhileDeleting(stored)
      if (!isReady(stored)) throw notReady(stored)
      return { ...stored.spec, secretVersion: stored.spec.secretVersion + 1 }
    },
  })
  let current = requested
  await pollUntilChanged(context, async () => {
    current = records.peek(ManagedIdentity, ref) ?? current
    return current.spec.secretVersion >= requested.spec.secretVersion && isReady(current)
  })
  return current
}
