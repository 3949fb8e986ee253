export { type BuildObjects, buildObjects, ownedByJob } from './objects.ts'
export { type BuildJob, type BuildPod, observeBuild } from './observe.ts'
