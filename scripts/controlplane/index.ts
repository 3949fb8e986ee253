export { attachControlPlane, type ControlPlaneReference } from './attach.ts'
export { createProgress, type Progress, silentProgress } from './progress.ts'
export { startControlPlane } from './start.ts'
export type { AccessOptions, ControlPlane, StartOptions } from './types.ts'
