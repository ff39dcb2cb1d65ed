"""Renders a frame of --format pc2 by Cycles: blender -b -P blender.py -- FOLDER FRAME PICTURE.png"""
import sys
import bpy

folder, frame, picture = sys.argv[sys.argv.index("--") + 1 :]
bpy.ops.wm.read_homefile(use_empty=True)
bpy.ops.wm.obj_import(filepath=f"{folder}/surface.obj")
cloth = bpy.context.selected_objects[0]
cache = cloth.modifiers.new("cache", "MESH_CACHE")
cache.cache_format, cache.filepath, cache.frame_start = "PC2", f"{folder}/surface.pc2", 0
cloth.modifiers.new("smooth", "SUBSURF").render_levels = 2
bpy.ops.object.light_add(type="SUN", rotation=(0.6, 0.4, 0.0))
bpy.context.object.data.energy = 2
bpy.ops.object.camera_add(rotation=(1.45, 0.0, 0.5))
scene = bpy.context.scene
scene.camera, scene.world = bpy.context.object, bpy.data.worlds.new("sky")
scene.world.color = (0.25, 0.27, 0.3)
scene.view_settings.view_transform = "Standard"
scene.frame_set(int(frame))
bpy.ops.object.select_all(action="DESELECT")
cloth.select_set(True)
bpy.ops.view3d.camera_to_view_selected()
scene.render.engine, scene.cycles.samples, scene.cycles.use_denoising = "CYCLES", 64, False
scene.render.resolution_x, scene.render.resolution_y, scene.render.filepath = 800, 600, picture
bpy.ops.render.render(write_still=True)
