export { type BuildObjects, buildObjects, ownedByJob } from './objects.ts'
export { type BuildJob, type BuildPod, isHalfStarted, observeBuild } from './observe.ts'
export { buildRequestOf } from './request.ts'
