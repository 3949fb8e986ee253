import { CROSSLINK_NAME } from '../../contracts/crosslink.ts'
import { boundaryNamespace } from '../../core/names.ts'
import { BoundaryCrosslink } from '../../crds/crosslink.ts'
import type { Context } from '../http/context.ts'
import { findBoundary } from '../resources/find.ts'
import type { CrosslinkRecord } from './record.ts'
import { crosslinkDisabled } from './reports.ts'

export type CrosslinkContext<Query = unknown, Body = unknown> = Context<'boundaryId', Query, Body>

export const crosslinkRef = ({ boundaryId }: { boundaryId: string }) => ({
  namespace: boundaryNamespace(boundaryId),
  name: CROSSLINK_NAME,
})

/** @throws PlatformError NOT_FOUND for the boundary */
export async function findCrosslink(context: CrosslinkContext): Promise<CrosslinkRecord | undefined> {
  const { services, parameters, fresh } = context
  await findBoundary(context, parameters.boundaryId)
  return services.records.get(BoundaryCrosslink, crosslinkRef(parameters), { fresh })
}

/** @throws PlatformError NOT_FOUND, CROSSLINK_DISABLED */
export async function findEnabledCrosslink(context: CrosslinkContext): Promise<CrosslinkRecord> {
  const found = await findCrosslink(context)
  if (found?.spec.enabled !== true) throw crosslinkDisabled()
  return found
}
