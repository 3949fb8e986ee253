import { functionObjectName } from '../../contracts/functions.ts'
import { refusedFields } from '../../core/errors.ts'
import { groupNamespace, isResourceName } from '../../core/names.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { ServerlessFunction } from '../../crds/functions.ts'
import type { Context } from '../http/context.ts'
import type { DeploymentBody } from '../resources/deployments/record.ts'
import { locationOf } from '../resources/find.ts'
import { requireFunctionCodeRights } from './record.ts'

const SOURCE_PATH = /^functions\/(.+)$/

/** Returns the function in `source` (`functions/<functionName>`) of a deployment. @throws PlatformError BAD_REQUEST */
export async function deployedFunction(
  namespaceName: string,
  { source }: DeploymentBody,
  context: Context,
): Promise<string> {
  const [, name = ''] = SOURCE_PATH.exec(source ?? '') ?? []
  const ownerName = functionObjectName(namespaceName, name)
  const { boundaryId, resourceGroup } = locationOf(context, 'namespaceName')
  const ref = { namespace: groupNamespace(boundaryId, resourceGroup), name: ownerName }
  if (isResourceName(name) && (await context.services.records.get(ServerlessFunction, ref)) !== undefined)
    return ownerName
  const message = 'must be functions/<functionName>, with a function of this namespace'
  throw refusedFields([{ field: 'source', message }])
}

/** Images are checked like uploaded code. @throws PlatformError FORBIDDEN */
export async function requireDeployedCodeRights({ source }: DeploymentBody, context: Context): Promise<void> {
  const location = locationOf(context, 'namespaceName')
  const { services, parameters } = context
  const namespace = groupNamespace(location.boundaryId, location.resourceGroup)
  const id = parameters.deploymentId
  const known = id === undefined ? undefined : await services.records.get(DeploymentRecord, { namespace, name: id })
  const [, named = ''] = SOURCE_PATH.exec(source ?? known?.spec.source ?? '') ?? []
  const name = known?.spec.ownerName ?? functionObjectName(location.name, named)
  const object = await services.records.get(ServerlessFunction, { namespace, name })
  requireFunctionCodeRights({ env: object?.spec.env ?? [] }, { ...location, services, context })
}
