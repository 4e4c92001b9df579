export { callEmbeddingModel, type EmbeddingCall } from "./call-embedding-model.ts";
export { callLanguageModel, type LanguageCall, type Part } from "./call-language-model.ts";
export { type Failure, failureOf } from "./failure.ts";
export { findPackage } from "./find-package.ts";
export { type Models, openModels, packageFault } from "./open-models.ts";
