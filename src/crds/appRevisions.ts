import type { PlatformApp } from './apps.ts'

/** The fields, beside the image, that a revision of an app records and a rollback restores. */
export const REVISED = [
  'computePlan',
  'port',
  'healthPath',
  'env',
  'volumes',
  'startCommand',
  'releaseCommand',
  'registryCredential',
  'managedIdentity',
  'isPublic',
  'customDomains',
] as const satisfies readonly (keyof PlatformApp['spec'])[]

/** What is deployed: an image, where it came from, and the deployment that brought it. */
export type DeployedImage = { image: string; commit?: string | undefined; deploymentId: string }
export type AppContent = DeployedImage & Partial<Pick<PlatformApp['spec'], (typeof REVISED)[number]>>
