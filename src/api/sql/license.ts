import { z } from 'zod'
import { encodeProductKey, sqlNames } from '../../contracts/sql.ts'
import { ownerSelector } from '../../contracts/workloads.ts'
import { timestamp } from '../../core/clock.ts'
import { PlatformError } from '../../core/errors.ts'
import { INCARNATION_ANNOTATION } from '../../core/labels.ts'
import { LICENSE_STATES, PAID_EDITIONS, SqlInstance } from '../../crds/sql.ts'
import { notYetCreated } from '../databases/databaseAccess.ts'
import { type Answer, NO_STORE, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf, refuseStale } from '../http/etag.ts'
import { namedRecord, strictRecord } from '../http/namedRecord.ts'
import { DateTime } from '../resources/dto.ts'
import { findResource, otherClusterOf } from '../resources/find.ts'
import { requireReachableCluster } from '../resources/requireReachableCluster.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import { withChangeLock } from '../rules/changeLocks.ts'
import type { SqlObject } from './record.ts'

export const SetLicenseRequest = strictRecord('SetLicenseRequest', {
  productKey: z
    .string()
    .regex(/^[A-Z0-9]{5}(-[A-Z0-9]{5}){4}$/, 'must be five groups of five capital letters and digits')
    .describe('Taken, and never shown'),
  edition: z.enum(['Standard', 'Enterprise']).nullish(),
})

export const LicenseDto = namedRecord('LicenseDto', {
  edition: z.string(),
  licenseStatus: z.enum(LICENSE_STATES),
  keySuffix: z.string().describe('The last five characters'),
  setAt: DateTime,
  setBy: z.string(),
  message: z.string().nullable(),
})

type SetLicense = Context<string, unknown, z.output<typeof SetLicenseRequest>>

/**
 * Sets or replaces the product key of a paid edition. The key is stored before the instance refers to it. The
 * controller restarts the engine with it, checks which edition runs, and returns to the previous key if the engine
 * rejected this one.
 */
export async function setLicense(context: SetLicense): Promise<Answer<z.output<typeof LicenseDto>>> {
  const { ref } = await findResource(SqlInstance, context)
  const { namespace, name } = ref
  // Keys are stored by version, so of two concurrent requests, the refused one would leave its key in force.
  const lock = { key: `product keys of ${namespace}/${name}`, sees: [{ kind: SqlInstance, namespace }] }
  return withChangeLock(context.services, lock, () => storeLicense(context))
}

async function storeLicense(context: SetLicense): Promise<Answer<z.output<typeof LicenseDto>>> {
  const { services, caller, body, ifMatch } = context
  const { object: found, ref } = await findResource(SqlInstance, context)
  const edition = body.edition ?? found.spec.edition
  refuseWhileDeleting(found)
  refuseStale([found], ifMatch)
  refuseFree(found, edition)
  const version = found.spec.licenseVersion + 1
  const setAt = timestamp(services.clock.now())
  const { uid = '', annotations } = found.metadata
  const incarnation = annotations?.[INCARNATION_ANNOTATION]
  const clusterId = otherClusterOf(services, found.spec.clusterId)
  if (clusterId !== undefined) {
    requireReachableCluster(services, clusterId)
    if (incarnation === undefined) throw notYetCreated(found, 'Its place in the cluster')
  }
  const { apiVersion, kind } = SqlInstance
  await services.sql.secretWriter.put(
    { namespace: ref.namespace, name: sqlNames(ref.name).license },
    encodeProductKey(version, { key: body.productKey, setAt, setBy: caller.principalId }),
    { apiVersion, kind, name: ref.name, uid, labels: ownerSelector(kind, ref.name), incarnation },
    clusterId,
  )
  const { object } = await services.records.update(SqlInstance, ref, {
    caller,
    ifMatch,
    change: (stored) => {
      refuseWhileDeleting(stored)
      refuseFree(stored, edition)
      if (stored.spec.licenseVersion !== version - 1)
        throw new PlatformError('CONFLICT', 'Another product key was set meanwhile; check the instance and try again.')
      return { ...stored.spec, licenseVersion: version, ...(edition === undefined ? {} : { edition }) }
    },
  })
  const dto = {
    edition: object.spec.edition ?? '',
    licenseStatus: 'Applying' as const,
    keySuffix: body.productKey.slice(-5),
    setAt,
    setBy: caller.principalId,
    message: 'The engine restarts with the key.',
  }
  return ok(dto, { etag: etagOf(object), headers: NO_STORE })
}

function refuseFree({ spec, metadata }: SqlObject, edition: string | undefined): void {
  if (spec.engine === 'MsSql' && edition !== undefined && PAID_EDITIONS.includes(edition)) return
  throw new PlatformError(
    'LICENSE_NOT_APPLICABLE',
    `"${metadata.name}" runs an edition that takes no product key; set edition Standard or Enterprise of MsSql.`,
  )
}
