import type { z } from 'zod'
import { IDENTITY_PATH } from '../contracts/managedIdentities.ts'
import type { codeFields } from './codeFields.ts'
import { deployRule, sourceAdmission, sourceRule } from './codeFields.ts'
import type { BackupPolicyInSpec, ComponentField, VolumeField } from './containerFields.ts'
import { adaptComponentRules, backupRules, variableRules, volumeRules } from './containerRules.ts'
import type { AdmissionRule, Rule } from './define.ts'
import { referenceAdmission } from './referenceAdmission.ts'
import { tagKeyRule } from './tags.ts'
import { allowedCidrsRule } from './workloadRules.ts'

type Code = z.output<z.ZodObject<typeof codeFields>>
type Volume = z.output<typeof VolumeField> & { mountPath: string }

/** The fields of an app that its rules check. */
type App = Pick<Code, 'repositoryUrl' | 'deploymentSourceId'> & {
  sourceKind: string
  image?: string | undefined
  rollback?: object | undefined
  deploy?: object | undefined
  dockerfilePath?: string | undefined
  runtime?: string | undefined
  runtimeVersion?: string | undefined
  minReplicas?: number | undefined
  maxReplicas?: number | undefined
  env: z.output<typeof ComponentField>['env']
  volumes: Volume[]
  managedIdentity: boolean
  backupPolicy?: z.output<typeof BackupPolicyInSpec> | undefined
  allowedCidrs?: string | undefined
  tags: Record<string, string>
}

/** An app in the form of a kind with one component, for rules over components. */
const toContainers = (app: App) => ({
  components: [{ name: 'app', image: 'image', env: app.env }],
  volumes: app.volumes.map(({ mountPath: _, ...volume }) => volume),
  ...(app.backupPolicy !== undefined && { backupPolicy: app.backupPolicy }),
})

const adaptRules = (rules: readonly Rule<never>[], field?: string) => adaptComponentRules(toContainers, rules, field)

function refuse(field: string, cel: string, message: string, test: Rule<App>['test']): Rule<App> {
  return { cel, message, field, test }
}

const isUnique = (values: readonly string[]) => new Set(values).size === values.length

export const appRules: readonly Rule<App>[] = [
  tagKeyRule,
  allowedCidrsRule,
  sourceRule,
  deployRule,
  refuse(
    'repositoryUrl',
    "(self.sourceKind == 'Repository') == has(self.repositoryUrl)",
    'repositoryUrl is required for sourceKind Repository, and not allowed for others',
    ({ sourceKind, repositoryUrl }) => (sourceKind === 'Repository') === (repositoryUrl !== undefined),
  ),
  refuse(
    'image',
    "(self.sourceKind == 'Image') == has(self.image)",
    'image is required for sourceKind Image, and not allowed for others',
    ({ sourceKind, image }) => (sourceKind === 'Image') === (image !== undefined),
  ),
  // Otherwise the image of the spec would be deployed again over the earlier one.
  refuse(
    'rollback',
    "!has(self.rollback) || self.sourceKind != 'Image'",
    'rollback is only for apps whose code is built: set image to the earlier image instead',
    ({ sourceKind, rollback }) => rollback === undefined || sourceKind !== 'Image',
  ),
  refuse(
    'runtime',
    '!has(self.runtime) || !has(self.dockerfilePath)',
    'runtime must not be set where a Dockerfile builds',
    ({ runtime, dockerfilePath }) => runtime === undefined || dockerfilePath === undefined,
  ),
  refuse(
    'runtimeVersion',
    '!has(self.runtimeVersion) || has(self.runtime)',
    'runtimeVersion needs runtime',
    ({ runtime, runtimeVersion }) => runtimeVersion === undefined || runtime !== undefined,
  ),
  refuse(
    'maxReplicas',
    'has(self.minReplicas) == has(self.maxReplicas) && (!has(self.minReplicas) || self.minReplicas <= self.maxReplicas)',
    'minReplicas and maxReplicas must be set together, and minReplicas must not be the larger one',
    ({ minReplicas, maxReplicas }) =>
      (minReplicas === undefined) === (maxReplicas === undefined) && (minReplicas ?? 0) <= (maxReplicas ?? 0),
  ),
  refuse(
    'volumes',
    `self.volumes.all(v, self.volumes.exists_one(o, o.mountPath == v.mountPath) && v.mountPath != '${IDENTITY_PATH}')`,
    `each volume must have its own mountPath, other than ${IDENTITY_PATH}`,
    ({ volumes }) => {
      const paths = volumes.map(({ mountPath }) => mountPath)
      return isUnique(paths) && !paths.includes(IDENTITY_PATH)
    },
  ),
  ...adaptRules(variableRules('[self]'), 'env'),
  ...adaptRules(volumeRules),
  ...adaptRules(backupRules.slice(0, 2)),
  refuse(
    'backupPolicy',
    "!has(self.backupPolicy) || self.backupPolicy.hooks.all(h, h.component == 'app')",
    'hooks of backupPolicy must name the component app, the only one',
    ({ backupPolicy }) => (backupPolicy?.hooks ?? []).every(({ component }) => component === 'app'),
  ),
]

/** Fields that decide who may see the values that an app refers to. */
export const APP_SECRET_ACCESS_FIELDS = [
  'image',
  'repositoryUrl',
  'branch',
  'deployOnPush',
  'pipeline',
  'deploymentSourceId',
  'previewBranches',
  'dockerfilePath',
  'startCommand',
  'releaseCommand',
  'env',
  'volumes',
  'deploy',
  'rollback',
  'backupPolicy',
  'managedIdentity',
] as const

export const appAdmission: readonly AdmissionRule[] = [
  ...referenceAdmission({ content: APP_SECRET_ACCESS_FIELDS }),
  sourceAdmission,
]
