import type { KubeObject } from '../../core/object.ts'
import { type SecretTexts, secretData } from '../../core/secretData.ts'
import type { AnyKind } from '../../crds/define.ts'
import { isKubeError } from '../../kube/errors.ts'
import { secretOwner } from '../../kube/putSecret.ts'
import type { Context } from '../http/context.ts'
import type { SecretWriter } from '../records/secrets.ts'
import { pollUntilChanged } from './pollUntilChanged.ts'

const RIGHTS_TIMEOUT_MS = 10_000

/**
 * Sets entries of an object's Secret in its namespace. The rights to Secrets come with a RoleBinding a moment after the
 * boundary was created, so a refusal is retried for a while.
 */
export async function putSecretWithRetry(
  context: Context,
  secrets: SecretWriter,
  { kind, metadata }: { kind: AnyKind; metadata: KubeObject['metadata'] },
  { name, entries }: { name: string; entries: SecretTexts },
): Promise<void> {
  const ref = { namespace: metadata.namespace ?? '', name }
  let refusal: unknown
  const isWritten = await pollUntilChanged(
    context,
    () =>
      secrets.put(ref, secretData(entries), secretOwner(kind, metadata)).then(
        () => true,
        (error: unknown) => {
          if (!isKubeError(error, 'Forbidden')) throw error
          refusal = error
          return false
        },
      ),
    RIGHTS_TIMEOUT_MS,
  )
  if (!isWritten) throw refusal
}
