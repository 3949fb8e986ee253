import { z } from 'zod'

/** Descriptions of path parameters by name: a name means the same in every path. */

const id = (what: string) => z.guid().describe(`Id of the ${what}`)
const name = (what: string) => z.string().describe(`Name of the ${what}`)
const number = (what: string) => z.int().min(1).describe(`Number of the ${what}`)

const GROUP = name('resource group')

const PARAMETERS: Readonly<Record<string, z.ZodType>> = {
  accountName: name('object storage account'),
  action: z.enum(['start', 'stop', 'restart']).describe('What to do'),
  alias: name('identity provider'),
  appName: name('app'),
  assignmentId: id('role assignment of the member'),
  bindingId: id('binding'),
  blueprintId: z.string().describe('Id or slug of the blueprint'),
  boundaryId: id('boundary'),
  bucketName: name('bucket'),
  clusterId: id('cluster'),
  component: name('component'),
  crateId: z.string().describe('Id of the crate, as the list of crates shows it'),
  denyId: id('denial or deny assignment'),
  deploymentId: id('deployment'),
  deploymentSourceId: id('deployment source'),
  executionId: id('execution'),
  from: number('revision to compare with'),
  functionName: name('function'),
  groupId: id('group'),
  installId: id('installation'),
  installationId: z.string().describe('Id of the installation at the Git host'),
  invitationId: id('invitation'),
  jitId: id('request for a role'),
  jobName: name('job'),
  keyId: id('access key'),
  managedIdentityId: id('managed identity'),
  module: name('module'),
  name: z.string().describe('Name in the collection before it'),
  namespaceName: name('function namespace, or of the namespace of Kubernetes'),
  number: number('revision'),
  path: z.string().describe('Path of the file'),
  pkValue: z.string().describe('Value of the primary key'),
  planId: id('plan'),
  projectionId: id('projection'),
  repositoryId: z.string().describe('Id of the repository at the Git host'),
  resourceGroup: GROUP,
  resourceGroupName: GROUP,
  resourceId: z.string().describe('Name of the plan'),
  resourceName: name('resource'),
  resourceType: z.string().describe('The collection of the resource, such as vectorclusters'),
  resourceUid: z.string().describe('UID of the workload in Kubernetes'),
  schema: name('schema'),
  secretName: name('secret'),
  slug: z.string().describe('Slug of the blueprint'),
  snapshotId: id('snapshot'),
  snapshotName: name('snapshot'),
  sourceId: id('catalog source'),
  sourceName: z.string().describe('Type of the deployment source, such as git'),
  table: name('table'),
  tenantId: id('tenant'),
  to: number('revision that is compared'),
  token: z.string().describe('The secret part of the link'),
  trustId: id('trust'),
  userId: id('person or service account'),
  vaultName: name('secret vault, which is unique on the platform'),
  version: number('version'),
}

/** @throws TypeError for a parameter that is not described */
export function pathParameter(parameter: string, isOpaque: boolean): z.ZodType {
  const known = PARAMETERS[parameter]
  if (known === undefined) throw new TypeError(`The parameter ${parameter} of a path is not described.`)
  return isOpaque ? known.describe(`${known.description}: any text, percent-encoded`) : known
}
