import type { RecordOf } from '../../src/api/records/records.ts'
import { ObjectAccessKey } from '../../src/crds/objectstorage.ts'
import type { startShop } from './shop.ts'

const READY = { type: 'Ready', status: 'True', reason: 'Available', message: '', lastTransitionTime: '' }

/** The controller of access keys: creates every key as soon as it sees it. */
export function playAccessKeys({
  caches,
  client,
}: Pick<Awaited<ReturnType<typeof startShop>>, 'caches' | 'client'>): void {
  caches.get<RecordOf<typeof ObjectAccessKey>>(ObjectAccessKey.resource).subscribe(({ object }) => {
    if (object === undefined || object.status !== undefined) return
    const { namespace = '', name } = object.metadata
    queueMicrotask(() => {
      client.edit(ObjectAccessKey.resource, { namespace, name }, ((each: { status?: object }) => {
        each.status = { conditions: [READY], accessKeyId: name }
      }) as never)
    })
  })
}
