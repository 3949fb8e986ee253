import { SYSTEM_NAMESPACE } from '../core/names.ts'
import { type SecretObject, type SecretTexts, secretData, secretTexts } from '../core/secretData.ts'
import { secret } from '../kube/builtin.ts'
import type { KubeClient } from '../kube/client.ts'
import { isKubeError } from '../kube/errors.ts'

/** Reads a Secret in the platform's namespace as texts. @throws KubeError NotFound */
export async function readSecretTexts(client: Pick<KubeClient, 'get'>, name: string): Promise<Record<string, string>> {
  return secretTexts((await client.get<SecretObject>(secret, { namespace: SYSTEM_NAMESPACE, name })).data)
}

/** @throws KubeError AlreadyExists */
export async function createSecretTexts(
  client: Pick<KubeClient, 'create'>,
  name: string,
  texts: SecretTexts,
): Promise<void> {
  const metadata = { namespace: SYSTEM_NAMESPACE, name, labels: { 'app.kubernetes.io/part-of': 'freehold' } }
  const object = { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data: secretData(texts) }
  await client.create<SecretObject>(secret, object)
}

/** Creates or updates the Secret; other entries are kept. */
export async function storeSecretTexts(
  client: Pick<KubeClient, 'create' | 'mergePatch'>,
  name: string,
  texts: SecretTexts,
): Promise<void> {
  try {
    await client.mergePatch(secret, { namespace: SYSTEM_NAMESPACE, name }, { data: secretData(texts) })
  } catch (error) {
    if (!isKubeError(error, 'NotFound')) throw error
    await createSecretTexts(client, name, texts)
  }
}
