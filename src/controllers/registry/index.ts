export { ensurePullSecret, keepPullSecret } from './pullSecret.ts'
export { removeGroupImages } from './removal.ts'
export { repositoryController } from './repository.ts'
export { runController, scheduleRun } from './run.ts'
