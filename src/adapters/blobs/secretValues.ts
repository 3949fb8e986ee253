import { absent, kubeFailureOf } from '../../core/kubeFailure.ts'
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../core/labels.ts'
import type { ObjectMeta, Resource } from '../../core/object.ts'
import type { Base64, SecretObject } from '../../core/secretData.ts'
import type { KubeClient } from '../../kube/client.ts'

export const secret: Resource = { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true }

type Ref = { readonly namespace: string; readonly name: string }
/** The expected version (undefined: none exists), and metadata for the Secret. */
type WriteOptions = { version: string | undefined } & Pick<ObjectMeta, 'labels' | 'annotations' | 'ownerReferences'>

/** Stores each value in a Secret, under one key: nothing more to install, and encrypted at rest if Secrets are. */
export function secretValues(client: Pick<KubeClient, 'get' | 'create' | 'mergePatch'>, key: string) {
  return {
    /** Returns undefined if there is none. */
    async read(ref: Ref): Promise<{ bytes: Buffer; version: string } | undefined> {
      const found = await client.get<SecretObject>(secret, ref).catch(absent)
      if (found === undefined) return undefined
      const { data, metadata } = found
      return { bytes: Buffer.from(data?.[key] ?? '', 'base64'), version: metadata.resourceVersion ?? '' }
    },

    /** @returns the version that was written; undefined if another writer was faster */
    async write(ref: Ref, bytes: Uint8Array, writing: WriteOptions): Promise<string | undefined> {
      const { version, annotations, ...metadata } = writing
      const marks = annotations === undefined ? {} : { annotations }
      const labels = { ...metadata.labels, [MANAGED_BY_LABEL]: MANAGED_BY }
      const data = { [key]: Buffer.from(bytes).toString('base64') as Base64 }
      const made = { apiVersion: 'v1', kind: 'Secret', metadata: { ...ref, ...metadata, ...marks, labels }, data }
      try {
        const { metadata: written } =
          version === undefined
            ? await client.create<SecretObject>(secret, made)
            : await client.mergePatch(
                secret,
                ref,
                { metadata: { ...marks, labels }, data },
                { resourceVersion: version },
              )
        return written.resourceVersion ?? ''
      } catch (error) {
        if (['AlreadyExists', 'Conflict', 'NotFound'].includes(kubeFailureOf(error)?.reason ?? '')) return undefined
        throw error
      }
    },
  }
}
