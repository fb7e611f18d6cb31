PRAGMA application_id = 1215261796
